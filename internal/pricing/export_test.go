package pricing

// Unknown lists the items without a known price.
func (b *PriceBook) Unknown() []string {
	var missing []string
	for _, known := range priceTypes {
		if b.price(known.item).IsUnknown() {
			missing = append(missing, string(known.item))
		}
	}
	return missing
}
