/**
 * One URL for each host that a URL of PostgreSQL names, in their order: `postgresql://user@one:5432,two:5432/name`. The driver understands
 * one host only.
 */
export function hostsOf(url: string): string[] {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/.exec(url) ?? [];
  const userEnds = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(userEnds).split(',');
  return hosts.length === 1 ? [url] : hosts.map((host) => scheme + authority.slice(0, userEnds) + host + rest);
}
