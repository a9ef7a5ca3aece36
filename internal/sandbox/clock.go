package sandbox

import "time"

// scheduleStep sets the time of a filing's next step on the clock. The caller
// holds s.mu. The time depends only on the order's ID, and through it on the
// seed, so that it changes no other random choice.
func (s *Service) scheduleStep(item *Item) {
	if s.cfg.Advance <= 0 || next(item) == "" {
		return
	}
	jitter := 0.75 + share(item.ID+item.Status)/2
	time.AfterFunc(time.Duration(jitter*float64(s.cfg.Advance)), func() { s.tick(item) })
}

// tick is one step of the clock: to the next status, or, once for the
// configured share of filings, to an exception in place of the last one. A
// filing with an exception stops until it is advanced.
func (s *Service) tick(item *Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := next(item)
	if s.life.Err() != nil || status == "" {
		return
	}
	if item.Status != exception {
		s.send(s.changeStatus(item, func() {
			if !item.struck && status == filed && share("exception "+item.ID) < s.cfg.Exceptions &&
				raise(item, 0) == nil {
				item.struck = true
			} else {
				item.Status = status
			}
		})...)
	}
	s.scheduleStep(item)
}

// share returns a number from 0 up to 1 that depends on text alone.
func share(text string) float64 {
	z := hash(text) * 0x9e3779b97f4a7c15 // FNV leaves the high bits of texts that end alike alike
	return float64((z^z>>32)>>11) / (1 << 53)
}
