import { describe, expect, it } from 'vitest';
import { cityEndpoints } from '../../src/contract/city.ts';
import type { EndpointShape } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import { answerEndpoint } from '../../src/platform/http/answer-endpoint.ts';
import { type Incoming, splitTarget } from '../../src/platform/http/message.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import { createSecretGuard } from '../../src/platform/secrets.ts';
import { type HostileRequest, requestsTo } from '../support/bounds/requests.ts';
import { processorMs } from '../support/processor-time.ts';

const MAX_MS = 50;

/** Two cases for each text field, one full of marks and one of line ends, both up to the endpoint's body limit. */
const cases = [...Object.entries<EndpointShape>(endpoints), ...Object.entries<EndpointShape>(cityEndpoints)].flatMap(
  ([name, endpoint]) =>
    requestsTo(endpoint)
      .filter(({ content }) => /^(?:marks|line ends) in [\w.]+$/.test(content))
      .map((request) => ({ name, endpoint, request, says: `${name}: ${request.content}` })),
);

const entry = {
  guard: createSecretGuard(['aisle']),
  isCode: () => false,
  authenticate: async () => 1n,
  isMaintainer: () => true,
  callerId: (caller: bigint) => caller,
};

function paramsOf(endpoint: EndpointShape, path: string): Record<string, string> {
  const steps = path.split('/');
  const names = endpoint.path.split('/').map((step, at) => [step, steps[at] ?? ''] as const);
  return Object.fromEntries(
    names.filter(([step]) => step.startsWith(':')).map(([step, value]) => [step.slice(1), value]),
  );
}

function incomingOf({ method, path, headers, body }: HostileRequest, endpoint: EndpointShape): Incoming {
  const all = endpoint.auth === 'staged_key' ? headers : { ...headers, authorization: 'Bearer a-key' };
  return {
    method,
    target: splitTarget(path),
    params: paramsOf(endpoint, path),
    headers: all,
    rawHeaders: Object.entries(all).flat(),
    body: body ?? new Uint8Array(),
    requestId: 'a request',
    clientNetwork: '192.0.2.1',
    signal: new AbortController().signal,
    notes: {},
  };
}

class Reached extends Error {}

/** Parses a body and runs all checks before its operation. Measures CPU milliseconds. */
async function judgeBody({ endpoint, request }: (typeof cases)[number]): Promise<{ outcome: string; ms: number }> {
  const operation = async (): Promise<never> => {
    throw new Reached();
  };
  const before = process.cpuUsage();
  const outcome = await answerEndpoint(entry, { endpoint, operation }, incomingOf(request, endpoint)).then(
    () => 'answered',
    (error: unknown) => (error instanceof Refusal ? error.reason : error instanceof Reached ? 'taken' : String(error)),
  );
  const { user, system } = process.cpuUsage(before);
  return { outcome, ms: (user + system) / 1_000 };
}

describe('a body full of marks or line ends in one field', () => {
  it('is made for every endpoint that takes a text', () => {
    const named = new Set(cases.map(({ name }) => name));
    for (const name of ['register', 'createListing', 'editListing', 'postComment', 'makeThing', 'draftWorld'])
      expect(named).toContain(name);
    expect(cases.length).toBeGreaterThan(100);
  });

  it('costs no more than its length, once the code is warm', async () => {
    const dear: string[] = [];
    for (const one of cases) {
      let least = await judgeBody(one);
      // Repeat slow measurements, because some include compilation and garbage collection.
      for (let again = 0; again < 3 && least.ms > MAX_MS / 2; again += 1) {
        const next = await judgeBody(one);
        if (next.ms < least.ms) least = next;
      }
      expect(['invalid_fields', 'unexpected_fields', 'taken', 'malformed_json'], one.says).toContain(least.outcome);
      if (least.ms > MAX_MS) dear.push(`${one.says}: ${least.ms.toFixed(0)} ms`);
    }
    expect(dear).toEqual([]);
  });

  it('costs more than that where a text is normalized first', () => {
    const [worst] = cases.filter(({ says }) => says === 'register: marks in model');
    const text = JSON.parse(worst?.request.body?.toString() ?? '{}')['model'] as string;
    expect(processorMs(() => text.normalize('NFC'))).toBeGreaterThan(2 * MAX_MS);
  });
});
