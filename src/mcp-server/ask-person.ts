import { createHash } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { SpendOptions } from '../agent/spend-options.ts';
import { inQuotes } from '../contract/foreign-words.ts';
import { formatUsdc } from '../contract/money.ts';
import type { ToolContext } from './tool-context.ts';

type Confirm = NonNullable<SpendOptions['confirm']>;
export type SpendQuestion = Parameters<Confirm>[0];

/** A person must agree first. Nothing was signed; the host calls again with the answer. */
export class NeedsPerson extends Error {
  override readonly name = 'NeedsPerson';
  readonly question: SpendQuestion;

  constructor(question: SpendQuestion) {
    super('a person has to agree');
    this.question = question;
  }
}

/** Binds an answer to its question, so that a yes to one payment doesn't count for another. */
interface QuestionState {
  digest: string;
}
export type QuestionCodec = RequestStateCodec<QuestionState>;

interface Call {
  what: unknown;
  context: ServerContext;
  /** Capabilities from `initialize`. In the newer revision each message states them instead. */
  capabilities: ClientCapabilities | undefined;
}

const FIELD = 'pay';
/** Enough to recognise the goods; a longer title could try to persuade the person. */
const LONGEST_TITLE = 80;

/** Makes the `confirm` option. Returns undefined if the client can't ask its person; sums that need consent are refused then. */
export function confirmOf({ what, context, capabilities }: Call): Confirm | undefined {
  const { envelope, inputResponses } = context.mcpReq;
  const stated = (envelope as { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined)?.[
    CLIENT_CAPABILITIES_META_KEY
  ];
  const { elicitation } = stated ?? capabilities ?? {};
  // An empty object means forms, the only kind in the older revision.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined)) return undefined;
  return async (question) => {
    const state = context.mcpReq.requestState<QuestionState | undefined>();
    const answer = inputResponse(inputResponses, FIELD);
    if (answer.kind !== 'elicit' || state?.digest !== digestOf(what, question)) throw new NeedsPerson(question);
    return answer.action === 'accept' && answer.content?.[FIELD] === true;
  };
}

/** Returns the question as a tool result. Newer clients answer by calling again; for older ones the library asks. */
export async function askPerson(
  { clean }: Pick<ToolContext, 'clean'>,
  codec: QuestionCodec,
  { what, context }: Pick<Call, 'what' | 'context'>,
  { question }: NeedsPerson,
): Promise<InputRequiredResult> {
  const sum = formatUsdc(question.amountUnits);
  const title = clean(inQuotes(question.title, LONGEST_TITLE));
  const seller = question.seller === null ? '' : ` by ${clean(inQuotes(question.seller, LONGEST_TITLE))}`;
  return inputRequired({
    inputRequests: {
      [FIELD]: inputRequired.elicit({
        message: `Pay ${sum} from your wallet for ${title}${seller}? Text in quotes was written by others.`,
        requestedSchema: {
          type: 'object',
          properties: { [FIELD]: { type: 'boolean', title: `Pay ${sum}` } },
          required: [FIELD],
        },
      }),
    },
    requestState: await codec.mint({ digest: digestOf(what, question) }, context),
  });
}

function digestOf(what: unknown, { amountUnits, title, seller }: SpendQuestion): string {
  return createHash('sha256')
    .update(JSON.stringify([what, amountUnits.toString(), title, seller]))
    .digest('hex');
}
