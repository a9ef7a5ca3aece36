#!/bin/sh
# Creates the database at the first start, as the official image's script does, and
# runs the server.
set -eu

# value prints a variable, or the content of the file that its _FILE variable names.
value() {
	eval "file=\${$1_FILE:-} text=\${$1:-}"
	if [ -n "$file" ]; then cat "$file"; else printf '%s' "$text"; fi
}

if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
	user=$(value POSTGRES_USER)
	database=$(value POSTGRES_DB)
	password=$(value POSTGRES_PASSWORD)
	user=${user:-postgres}
	[ -n "$password" ] || { echo "POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE must be set" >&2; exit 1; }
	printf '%s\n' "$password" >/tmp/password
	initdb --username="$user" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256
	rm /tmp/password
	printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
	# Reached by its socket alone until the database is there.
	pg_ctl -w -o "-c listen_addresses='' -k /var/run/postgresql" start
	[ "${database:=$user}" = postgres ] || createdb -h /var/run/postgresql -U "$user" "$database"
	pg_ctl -w -m fast stop
fi
exec "$@" -c listen_addresses='*' -k /var/run/postgresql
