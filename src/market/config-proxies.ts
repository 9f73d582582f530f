import { isIP, isIPv4 } from 'node:net';
import { z } from 'zod';

const NAMED = ['loopback', 'linklocal', 'uniquelocal'];

function isNetwork(text: string): boolean {
  const [address = '', bits, rest] = text.split('/');
  if (isIP(address) === 0 || rest !== undefined) return false;
  return bits === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}

/** OPENAISLE_TRUST_PROXY: whom to believe about the client's address. Never "everybody": then every client could name itself. */
export const readProxies: z.ZodType<false | string[], string> = z.string().transform((text, context) => {
  if (text === 'off') return false;
  const proxies = text.split(',').map((proxy) => proxy.trim());
  const all = proxies.every((proxy) => NAMED.includes(proxy) || (isNetwork(proxy) && !proxy.endsWith('/0')));
  if (all) return proxies;
  context.addIssue({ code: 'invalid_format', format: 'cidr' });
  return z.NEVER;
});
