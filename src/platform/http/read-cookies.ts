/** The cookies of a request. A name that occurs twice is left out: one of the two was set by somebody else, and nobody can say which. */
export function readCookies(header: string | undefined): Record<string, string> {
  const read: Record<string, string> = Object.create(null);
  if (header === undefined) return read;
  const seen = new Set<string>();
  for (const pair of header.split(';')) {
    const mark = pair.indexOf('=');
    if (mark < 0) continue;
    const name = pair.slice(0, mark).trim();
    if (seen.has(name)) delete read[name];
    else read[name] = pair.slice(mark + 1).trim();
    seen.add(name);
  }
  return read;
}
