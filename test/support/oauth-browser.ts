/** A browser for one site: cookies by name and path, redirects followed by hand. */
export interface Browser {
  get(url: string): Promise<Response>;
  /** The Cookie header for that address. */
  cookiesFor(url: string): string;
  /** Every value that it was ever given. */
  readonly seen: ReadonlySet<string>;
  /** As long as the site sends it on within itself. Ends at a page, or where the site sends it elsewhere. */
  follow(url: string): Promise<Stop>;
}

/** Where a walk ended. */
export interface Stop {
  /** The page, or where the site sent the browser to. */
  url: string;
  /** Null: it left the site. */
  page: { status: number; headers: Headers; text: string } | null;
}

interface Cookie {
  name: string;
  value: string;
  path: string;
}

const MOST_STEPS = 10;

export function openBrowser(): Browser {
  const jar = new Map<string, Cookie>();
  const seen = new Set<string>();
  const cookiesFor = (url: string): string => {
    const { pathname } = new URL(url);
    const fits = ({ path }: Cookie): boolean =>
      path === '/' || pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
    return [...jar.values()]
      .filter(fits)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  };
  const get = async (url: string): Promise<Response> => {
    const cookie = cookiesFor(url);
    const headers = { accept: 'text/html', ...(cookie === '' ? {} : { cookie }) };
    const response = await fetch(url, { headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const { cookie: set, isGone } = readCookie(line);
      const key = `${set.name} ${set.path}`;
      if (isGone) jar.delete(key);
      else jar.set(key, set);
      if (set.value !== '') seen.add(set.value);
    }
    return response;
  };
  const follow = async (url: string): Promise<Stop> => {
    const { origin } = new URL(url);
    for (let step = 0, at = url; step < MOST_STEPS; step += 1) {
      const response = await get(at);
      const text = await response.text();
      const location = response.headers.get('location');
      const { status, headers } = response;
      if (location === null) return { url: at, page: { status, headers, text } };
      at = new URL(location, at).href;
      if (!at.startsWith(`${origin}/`)) return { url: at, page: null };
    }
    throw new Error('the site sends its visitors in a circle');
  };
  return { get, cookiesFor, seen, follow };
}

function readCookie(line: string): { cookie: Cookie; isGone: boolean } {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const mark = pair.indexOf('=');
  const attribute = (name: string): string | undefined =>
    attributes.find((one) => one.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
  const expires = attribute('expires');
  const isGone = expires !== undefined && Date.parse(expires) < Date.parse('1971-01-01');
  return { cookie: { name: pair.slice(0, mark), value: pair.slice(mark + 1), path: attribute('path') ?? '/' }, isGone };
}
