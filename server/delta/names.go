package delta

// wants reports whether the client subscribes to a name.
func (l *ledger) wants(name string) bool { return l.wildcard || l.named(name) }

// named reports whether the client subscribes to a name by itself.
func (l *ledger) named(name string) bool { return l.unknown[name] || l.names.has(name) }

// allNamed yields the names to which the client subscribes by themselves.
func (l *ledger) allNamed(yield func(string) bool) {
	for e := range l.names.All() {
		if !yield(e.Name) {
			return
		}
	}
	for name, named := range l.unknown {
		if named && !yield(name) {
			return
		}
	}
}

// want adds names, which are sorted, to the subscription.
func (l *ledger) want(names []string) {
	wanted, all := make([]*Entry, 0, len(names)), l.all()
	for _, name := range names {
		switch e := all.get(name); {
		case l.unknown[name]:
		case e != nil:
			wanted = append(wanted, e)
		default:
			l.addUnknown(name)
			l.unknown[name] = true
		}
	}
	l.names = l.names.take(wanted, all)
}

// nameUnit is used by Weight: a long name counts once more for every nameUnit bytes.
const nameUnit = 256

// Weight returns how much an unknown name counts: 1, and 1 more for every 256 bytes.
func Weight(name string) int { return 1 + len(name)/nameUnit }

// addUnknown adds a name to l.unknown, and its Weight to l.unknownWeight.
func (l *ledger) addUnknown(name string) {
	if _, ok := l.unknown[name]; !ok {
		l.unknown[name] = false
		l.unknownWeight += Weight(name)
	}
}

// dropUnknown undoes addUnknown. It does nothing if the name is not in l.unknown.
func (l *ledger) dropUnknown(name string) {
	if _, ok := l.unknown[name]; ok {
		delete(l.unknown, name)
		l.unknownWeight -= Weight(name)
	}
}
