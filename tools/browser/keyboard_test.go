//go:build unix

package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// typing presses keys one after the other as a keyboard does: the key goes down, its
// character is typed unless the page canceled the key, and the key goes up. A
// chromedp.KeyEvent types the character even if the page canceled the key.
func typing(keys string, modifiers ...chromedp.Modifier) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, r := range keys {
			for _, event := range kb.Encode(r) {
				chromedp.KeyModifiers(modifiers...)(event)
				switch event.Type {
				case kb.KeyDown:
					event.Type = kb.KeyRawDown
				case kb.KeyChar:
					if event.Modifiers&^int64(chromedp.ModifierShift) != 0 {
						continue // a shortcut types nothing
					}
				}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *event); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// pressKeys presses keys, one after the other.
func (p *person) pressKeys(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.do("press "+keys, typing(keys, modifiers...))
}

// write types into a field and replaces its content.
func (p *person) write(selector, text string) {
	p.t.Helper()
	found := `document.querySelector(` + quoted(selector) + `)`
	eval[string](p, `(`+found+`).value = ""`)
	p.do("focus "+selector, chromedp.Focus(chromedp.JSPath(found), chromedp.NodeVisible))
	p.pressKeys(text)
}

// point is a place in the window.
type point struct{ X, Y float64 }

// clickAt clicks a place in the window count times within a moment, as a person does.
func (p *person) clickAt(at point, count int) {
	p.t.Helper()
	for n := range count {
		p.do("click", chromedp.MouseClickXY(at.X, at.Y, chromedp.ClickCount(n+1)))
	}
}
