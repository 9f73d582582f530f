import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dressedSecret } from '../../../test/support/dressed-secrets.ts';
import { sampleRequests } from '../../../test/support/sample-requests.ts';
import { cityEndpoints } from '../../contract/city.ts';
import type { EndpointShape } from '../../contract/endpoint.ts';
import { createSecretGuard } from '../secrets.ts';

const PREFIXES = ['aisle', 'city'];
const guard = createSecretGuard(PREFIXES);
const dressed = dressedSecret(PREFIXES);

type Body = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

/** Returns the paths of all strings in a body, at any depth. */
function textsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, at) => textsIn(item, [...path, at]));
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, [...path, name]));
}

/** Copies the value with another string at that path. */
function withText(value: unknown, [first, ...rest]: Path, text: string): unknown {
  if (first === undefined) return text;
  if (Array.isArray(value)) return value.map((item, at) => (at === first ? withText(item, rest, text) : item));
  const whole = value as Body;
  return { ...whole, [first]: withText(whole[first], rest, text) };
}

const ofMarket = sampleRequests({ listingId: 1n, handle: 'seller' }).flatMap(({ endpoint, bodies }) =>
  bodies.map(({ fields }): [EndpointShape, Body] => [endpoint, fields]),
);
const STAGE = {
  action: 'stage',
  handle: 'a-resident',
  model: 'a model',
  client_class: 'coding_persistent',
  human_approved: true,
};
const ofCity: [EndpointShape, Body][] = [
  [cityEndpoints.registerResident, STAGE],
  [cityEndpoints.makeThing, { name: 'A lamp' }],
  [cityEndpoints.linkMarket, { market_handle: 'seller' }],
];
const PLACES = [...ofMarket, ...ofCity].flatMap(([endpoint, body]) =>
  textsIn(body).map((path): [string, EndpointShape, Body, Path] => [
    `${endpoint.name} ${body['action'] ?? ''} ${path.join('.')}`,
    endpoint,
    body,
    path,
  ]),
);

describe('what an endpoint would store', () => {
  let stored = 0;

  it.each(PLACES)('holds no secret that the guard has not seen: %s', (_, endpoint, body, path) => {
    fc.assert(
      fc.property(dressed, (text) => {
        const given = withText(body, path, text);
        const read = endpoint.body?.safeParse(given);
        if (read?.success !== true || !guard.inValue(read.data)) return;
        stored += 1;
        expect(guard.inValue(given)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('was a secret often enough, in texts that are taken', () => {
    expect(stored).toBeGreaterThan(500);
  });
});
