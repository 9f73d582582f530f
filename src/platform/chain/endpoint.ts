/** An RPC address taken apart: what to call, what to send along, and what may be written down. */
export interface Endpoint {
  /** Without user and password: `fetch` refuses an address that has them. */
  url: string;
  /** For logs: scheme and host only, because providers put their keys in the path and the query. */
  label: string;
  headers: Record<string, string>;
  /** Replaces every secret of the address and the headers. For texts that come back from the node. */
  redact(text: string): string;
}

export function parseEndpoint(address: string, headers: Record<string, string> = {}): Endpoint {
  // The parser's own error quotes the whole address.
  const url = URL.parse(address);
  if (url === null) throw new TypeError('the RPC address is not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new TypeError('the RPC address is not http or https');
  const secrets = secretsOf(url, headers);
  const sent = { ...headers };
  if (url.username !== '' || url.password !== '') {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    sent['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
    url.username = '';
    url.password = '';
  }
  url.hash = '';
  return {
    url: url.href,
    label: url.pathname === '/' && url.search === '' ? url.origin : `${url.origin}/...`,
    headers: sent,
    redact: (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text),
  };
}

function secretsOf(url: URL, headers: Record<string, string>): string[] {
  const found = [url.username, url.password, url.search, url.search.slice(1), ...url.searchParams.values()];
  // Short path segments are words such as "v2"; a key is never that short.
  found.push(...url.pathname.split('/').filter((segment) => segment.length >= 8));
  found.push(...Object.values(headers).flatMap((value) => [value, ...value.split(' ')]));
  const spelled = found.flatMap((text) => [text, safeDecode(text)]).filter((text) => text.length >= 4);
  // Longest first, or a part would be taken out of the middle of a longer one.
  return [...new Set(spelled)].sort((a, b) => b.length - a.length);
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
