package sandbox

import "time"

// schedule sets the time at which the clock moves a filing one step on. The caller
// holds s.mu. The time depends only on the order's id, and through it on the seed,
// so that it changes no other random choice.
func (s *Service) schedule(item *Item) {
	if s.cfg.Advance <= 0 || next(item) == "" {
		return
	}
	jitter := 0.75 + share(item.ID+item.Status)/2
	time.AfterFunc(time.Duration(jitter*float64(s.cfg.Advance)), func() { s.tick(item) })
}

// tick is one step of the clock: on to the next status, or, once for the
// configured share of filings, an exception in place of the last one. A filing
// with an exception stops until it is advanced.
func (s *Service) tick(item *Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := next(item)
	if s.life.Err() != nil || status == "" {
		return
	}
	if item.Status != exception {
		s.send(s.change(item, func() {
			if !item.struck && status == filed && share("exception "+item.ID) < s.cfg.Exceptions &&
				raise(item, 0) == nil {
				item.struck = true
			} else {
				item.Status = status
			}
		})...)
	}
	s.schedule(item)
}

// share returns a number from 0 up to 1 that depends on text alone.
func share(text string) float64 {
	z := hash(text) * 0x9e3779b97f4a7c15 // FNV leaves the high bits of texts that end alike alike
	return float64((z^z>>32)>>11) / (1 << 53)
}
