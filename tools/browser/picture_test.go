//go:build unix

package browser

func (p *person) picture(name string) {}
