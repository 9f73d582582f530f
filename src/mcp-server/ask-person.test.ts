import { CLIENT_CAPABILITIES_META_KEY, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { askPerson, confirmOf, NeedsPerson, type QuestionCodec } from './ask-person.ts';

const PLAIN = { clean: (text: string) => text };
const asked = { amountUnits: 2_000_000n, title: 'Goods', seller: 'shop' };
const what = ['buy', { listing_id: 7, max_price_usdc: 2 }];
const yes = { pay: { action: 'accept', content: { pay: true } } };

/** Builds a request's context: the state sent with the question comes back with the answer. */
function contextOf(state: unknown, inputResponses: Record<string, unknown> | undefined, capabilities: object = {}) {
  return {
    mcpReq: { envelope: { [CLIENT_CAPABILITIES_META_KEY]: capabilities }, inputResponses, requestState: () => state },
  } as unknown as ServerContext;
}

async function stateOf(question: { what: unknown; asked: typeof asked }): Promise<unknown> {
  let minted: unknown;
  const codec: QuestionCodec = {
    mint: async (state) => {
      minted = state;
      return 'state';
    },
    verify: async () => ({ digest: '' }),
  };
  await askPerson(
    PLAIN,
    codec,
    { ...question, context: contextOf(undefined, undefined) },
    new NeedsPerson(question.asked),
  );
  return minted;
}

const confirm = (given: { what: unknown; state: unknown; responses?: Record<string, unknown> }) =>
  confirmOf({
    what: given.what,
    context: contextOf(given.state, given.responses, { elicitation: {} }),
    capabilities: undefined,
  });

describe('a person’s yes', () => {
  test('counts for the payment that they were asked about', async () => {
    const state = await stateOf({ what, asked });
    expect(await confirm({ what, state, responses: yes })?.(asked)).toBe(true);
    expect(await confirm({ what, state, responses: { pay: { action: 'accept', content: {} } } })?.(asked)).toBe(false);
    expect(await confirm({ what, state, responses: { pay: { action: 'decline' } } })?.(asked)).toBe(false);
  });

  const others: [string, { what?: unknown; asked?: Partial<typeof asked> }][] = [
    ['another sum', { asked: { amountUnits: 2_000_001n } }],
    ['another title', { asked: { title: 'Other goods' } }],
    ['another seller', { asked: { seller: 'other-shop' } }],
    ['another listing', { what: ['buy', { listing_id: 8, max_price_usdc: 2 }] }],
  ];
  test.each(others)('is none to %s', async (_, other) => {
    const state = await stateOf({ what, asked });
    const now = { ...asked, ...other.asked };
    await expect(confirm({ what: other.what ?? what, state, responses: yes })?.(now)).rejects.toThrow(NeedsPerson);
  });

  test('is none without a question before it', async () => {
    await expect(confirm({ what, state: undefined, responses: yes })?.(asked)).rejects.toThrow(NeedsPerson);
  });
});

test.each([
  ['nothing', {}, false],
  ['forms, as it was said first', { elicitation: {} }, true],
  ['forms', { elicitation: { form: {} } }, true],
  ['links alone', { elicitation: { url: {} } }, false],
])('a client that can ask %s', (_, capabilities, can) => {
  const context = contextOf(undefined, undefined, capabilities);
  expect(confirmOf({ what, context, capabilities: undefined }) !== undefined).toBe(can);
});
