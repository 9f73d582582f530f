import { isIP } from 'node:net';
import { z } from 'zod';
import { addressIn } from '../contract/chain-values.ts';
import { DEFAULT_NETWORK, NETWORK_NAMES, NETWORKS, type Network } from '../contract/vocabulary.ts';
import { type Environment, optional, required, type Variable } from './config.ts';
import type { Hex } from './hex.ts';
import { readJson } from './http/read-json.ts';
import { SECRET_PREFIX } from './secrets.ts';

/** Parsers for the variables that change named limits. */

const LARGEST = 1_000_000_000;

/** Reports a fault, naming variables and bounds but never a value. */
export type ReportFault = (message: string) => void;

/** Parses the text as a JSON object. On failure reports a fault and returns null. */
export function readLimitsObject(text: string, report: ReportFault): Record<string, unknown> | null {
  try {
    return readJson(Buffer.from(text));
  } catch {
    report('it is not a JSON object');
    return null;
  }
}

/** Returns the given limits. Reports unknown names, and values that are no whole number in range. `most` gives a lower maximum by name. */
export function readNamed(
  values: object,
  names: readonly string[],
  report: ReportFault,
  most: ReadonlyMap<string, number> = new Map(),
): Record<string, number> {
  const limits: Record<string, number> = {};
  for (const [name, value] of Object.entries(values)) {
    const max = most.get(name) ?? LARGEST;
    if (!names.includes(name)) report(`unknown name; the known ones are ${names.join(', ')}`);
    else if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > max) {
      report(`${name} must be a whole number from 0 to ${max}`);
    } else limits[name] = value;
  }
  return limits;
}

/** Kinds of variables that several servers share. */

const portText = z
  .string()
  .regex(/^[1-9]\d{0,4}$/)
  .transform(Number)
  .refine((port) => port <= 65_535, { abort: true });

export function portVariable(fallback: number): Variable<number> {
  return optional(dropMessages(portText), 'a port from 1 to 65535', fallback);
}

export function wholeNumberVariable(max: number, fallback: number): Variable<number> {
  const schema = z
    .string()
    .regex(/^(?:0|[1-9]\d{0,8})$/)
    .transform(Number)
    .refine((value) => value <= max);
  return optional(dropMessages(schema), `a whole number from 0 to ${max}`, fallback);
}

export function wholeNumberFrom<Fallback extends number | null = number>(
  least: number,
  most: number,
  fallback: Fallback,
): Variable<number | Fallback> {
  const schema = z.string().transform((text, context) => {
    const value = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    context.addIssue({ code: 'invalid_format', format: 'regex' });
    return z.NEVER;
  });
  return optional<number | Fallback>(schema, `a whole number from ${least} to ${most}`, fallback);
}

export function hostVariable(fallback: string): Variable<string> {
  const schema = z
    .string()
    .refine((text) => isIP(text) !== 0 || /^[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?$/i.test(text));
  return optional(dropMessages(schema), 'an IP address or a host name, without port or brackets', fallback);
}

const HTTP_URL = 'an http or https URL without user, password and fragment';

function isHttpUrl(text: string): boolean {
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === '' && url.password === '' && url.hash === '';
}

const httpUrl = dropMessages(
  z
    .string()
    .refine(isHttpUrl)
    .transform((text) => text.replace(/\/+$/, '')),
);

export function requiredHttpUrl(): Variable<string> {
  return required(httpUrl, HTTP_URL);
}

export function optionalHttpUrl(): Variable<string | null> {
  return optional<string | null>(httpUrl, HTTP_URL, null);
}

/** Null for `none`. Undefined if unset. */
export function httpUrlOrNone(): Variable<string | null | undefined> {
  const none = z.literal('none').transform(() => null);
  return optional<string | null | undefined>(z.union([none, httpUrl]), `none, or ${HTTP_URL}`, undefined);
}

/** Limited, because every decision asks each provider. */
const MAX_PROVIDERS = 5;

/** URLs of RPC nodes of one network, in the order in which they are asked. Rejects duplicates, which would give no second opinion. */
export function rpcUrlsVariable(): Variable<readonly [string, ...string[]]> {
  const schema = z.string().transform((text, context): readonly [string, ...string[]] => {
    const [first = '', ...others] = text.split(',').map((url) => url.trim());
    const urls = [first, ...others];
    const hrefs = new Set(urls.map((url) => URL.parse(url)?.href));
    if (!urls.every(isHttpUrl)) context.addIssue({ code: 'invalid_format', format: 'url' });
    else if (hrefs.size < urls.length) context.addIssue({ code: 'custom', message: 'one URL appears twice' });
    else if (urls.length > MAX_PROVIDERS) {
      context.addIssue({ code: 'custom', message: `there are more than ${MAX_PROVIDERS}` });
    }
    return [first, ...others];
  });
  return required(schema, `${HTTP_URL}, or up to ${MAX_PROVIDERS} of them separated by commas`);
}

const origin = dropMessages(
  z
    .string()
    .refine((text) => isHttpUrl(text) && new URL(text).pathname === '/' && new URL(text).search === '')
    .transform((text) => new URL(text).origin),
);
const ORIGIN = 'an http or https origin such as https://example.org, without a path';

/** Accepts only scheme and authority, because everything is served from the root. */
export function originVariable(): Variable<string | null> {
  return optional<string | null>(origin, ORIGIN, null);
}

export function requiredOrigin(): Variable<string> {
  return required(origin, ORIGIN);
}

export function databaseUrlVariable(): Variable<string | null> {
  return optional<string | null>(
    z.string().regex(/^postgres(?:ql)?:\/\/\S+$/),
    'a PostgreSQL connection URL (postgresql://...)',
    null,
  );
}

export function keyPrefixVariable(fallback: string): Variable<string> {
  return optional<string>(z.string().regex(SECRET_PREFIX), '2 to 16 of a-z and 0-9, beginning with a letter', fallback);
}

export function networkVariable(): Variable<Network> {
  const schema = z.enum(NETWORK_NAMES).transform((name) => NETWORKS[name]);
  return optional(schema as z.ZodType<Network, string>, NETWORK_NAMES.join(' or '), DEFAULT_NETWORK);
}

const ADDRESS = 'an address: 0x and 40 hex digits, all lower case or with a right EIP-55 checksum';

export function requiredAddress(): Variable<Hex> {
  return required<Hex>(dropMessages(addressIn), ADDRESS);
}

export function optionalAddress(): Variable<Hex | null> {
  return optional<Hex | null>(dropMessages(addressIn), ADDRESS, null);
}

/** Relative paths start at the working directory. */
export function pathVariable<Fallback extends string | null>(fallback: Fallback): Variable<string | Fallback> {
  return optional<string | Fallback>(z.string().min(1), 'a path', () => fallback);
}

/** Replaces a schema's messages, so that the fault always shows the variable's own description. */
function dropMessages<T>(schema: z.ZodType<T, string>): z.ZodType<T, string> {
  return z.string().transform((text, context) => {
    const checked = schema.safeParse(text);
    if (checked.success) return checked.data;
    context.addIssue({ code: 'invalid_format', format: 'regex' });
    return z.NEVER;
  });
}

/** Returns the URL of this server if none is configured. A wildcard address cannot be linked to, so it becomes 127.0.0.1. */
export function localUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** An external database needs a configured pepper file. One in the data folder would differ on another machine and match no key. */
export function pepperFaults(env: Environment, names: { databaseUrl: string; pepperFile: string }): string[] {
  const isSet = (name: string): boolean => (env[name] ?? '').trim() !== '';
  if (!isSet(names.databaseUrl) || isSet(names.pepperFile)) return [];
  return [`${names.pepperFile} is required with ${names.databaseUrl} and must be a path`];
}
