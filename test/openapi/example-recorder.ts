import type { EndpointShape } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/index.ts';
import type { Answer, AskOptions } from '../support/market-world.ts';

/** A request and its answers, as the API reference shows them. */
export interface RecordedExample {
  request?: unknown;
  /** First answer of each status, including 402. */
  answers: Record<string, unknown>;
}
export type RecordedExamples = Partial<Record<EndpointName, RecordedExample>>;

type Ask = (method: string, path: string, options?: AskOptions) => Promise<Answer>;

export interface ExampleRecorder {
  listen(ask: Ask): Ask;
  /** Returns all examples, with each key of `places` replaced by its value. */
  examples(places: Readonly<Record<string, string>>): RecordedExamples;
}

/** Fields with secrets that the caller sees only once. Examples show a placeholder. */
const SHOWN_ONCE = new Set(['merchant_key', 'recovery_codes', 'recovery_code', 'pairing_code', 'delivery_token']);
const STAGED = new Set(['session', 'csrf', 'recovery_slip']);

const ROUTES = (Object.entries(endpoints) as [EndpointName, EndpointShape][]).map(([name, { method, path }]) => ({
  ...{ name, method },
  form: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
}));

export function createExampleRecorder(): ExampleRecorder {
  const seen = new Map<EndpointName, RecordedExample>();
  const remember = (method: string, path: string, sent: unknown, { status, body }: Answer): void => {
    const [address = ''] = path.split('?');
    const route = ROUTES.find((one) => one.method === method && one.form.test(address));
    if (route === undefined || (status >= 300 && status !== 402)) return;
    const known = seen.get(route.name) ?? { answers: {} };
    if (known.answers[status] !== undefined) return;
    const request = known.request ?? sent;
    const answers = { ...known.answers, [status]: body };
    seen.set(route.name, { ...(request === undefined ? {} : { request }), answers });
  };
  return {
    listen: (ask) => async (method, path, options) => {
      const answer = await ask(method, path, options);
      remember(method, path, options?.body, answer);
      return answer;
    },
    examples: (places) => {
      const inOrder = ROUTES.flatMap(({ name }) => {
        const example = seen.get(name);
        return example === undefined ? [] : [[name, example] as const];
      });
      return withPlaces(Object.fromEntries(inOrder), places) as RecordedExamples;
    },
  };
}

/** Replaces local URLs with those of the reference, and secrets with placeholders. */
function withPlaces(value: unknown, places: Readonly<Record<string, string>>): unknown {
  const plain = JSON.stringify(value, (key, inside: unknown) => {
    // The public facts show the patterns of keys and codes under the same names.
    if (typeof inside === 'string' && inside.startsWith('^')) return inside;
    if (SHOWN_ONCE.has(key)) return Array.isArray(inside) ? inside.map(() => 'shown once') : 'shown once';
    return STAGED.has(key) ? `the ${key.replace('_', ' ')}` : inside;
  });
  return JSON.parse(Object.entries(places).reduce((text, [from, to]) => text.replaceAll(from, to), plain));
}

/** Reduces a value to names and types, which are equal in every run. The first item represents a whole list. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inside]) => [name, shapeOf(inside)]),
  );
}
