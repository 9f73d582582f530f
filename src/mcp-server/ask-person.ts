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
import { inMarks } from '../contract/foreign-words.ts';
import { sayUsdc } from '../contract/money.ts';
import type { ToolContext } from './tool-context.ts';

type Confirm = NonNullable<SpendOptions['confirm']>;
export type SpendQuestion = Parameters<Confirm>[0];

/** A person has to agree first. Nothing was signed; the call comes again with the answer. */
export class NeedsPerson extends Error {
  override readonly name = 'NeedsPerson';
  readonly asked: SpendQuestion;

  constructor(asked: SpendQuestion) {
    super('a person has to agree');
    this.asked = asked;
  }
}

/** What was asked, so that a yes to one payment is none to another. */
interface QuestionState {
  digest: string;
}
export type QuestionCodec = RequestStateCodec<QuestionState>;

interface Call {
  /** The tool and its arguments. */
  what: unknown;
  context: ServerContext;
  /** Of a client that began with `initialize`; in the newer revision each message says it. */
  capabilities: ClientCapabilities | undefined;
}

const FIELD = 'pay';
/** Enough to recognise goods by; more would be room to argue with the person. */
const LONGEST_TITLE = 80;

/** For `buyGoods` and `sellGoods`: undefined where this client cannot ask its person, which refuses what has to be asked. */
export function confirmOf({ what, context, capabilities }: Call): Confirm | undefined {
  const { envelope, inputResponses } = context.mcpReq;
  const said = (envelope as { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined)?.[
    CLIENT_CAPABILITIES_META_KEY
  ];
  const { elicitation } = said ?? capabilities ?? {};
  // An empty object stands for forms, as it did before there were links.
  if (elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined)) return undefined;
  return async (asked) => {
    const state = context.mcpReq.requestState<QuestionState | undefined>();
    const answer = inputResponse(inputResponses, FIELD);
    if (answer.kind !== 'elicit' || state?.digest !== digestOf(what, asked)) throw new NeedsPerson(asked);
    return answer.action === 'accept' && answer.content?.[FIELD] === true;
  };
}

/** The question as a result, for either revision: the newer client answers by calling again, the older one is asked by the library. */
export async function askPerson(
  { clean }: Pick<ToolContext, 'clean'>,
  codec: QuestionCodec,
  { what, context }: Pick<Call, 'what' | 'context'>,
  { asked }: NeedsPerson,
): Promise<InputRequiredResult> {
  const sum = sayUsdc(asked.amountUnits);
  const title = clean(inMarks(asked.title, LONGEST_TITLE));
  const whom = asked.seller === null ? '' : ` of the seller ${clean(inMarks(asked.seller, LONGEST_TITLE))}`;
  return inputRequired({
    inputRequests: {
      [FIELD]: inputRequired.elicit({
        message: `Pay ${sum} out of your wallet? It is for ${title}${whom}. What stands in quotes was written by others.`,
        requestedSchema: {
          type: 'object',
          properties: { [FIELD]: { type: 'boolean', title: `Pay ${sum}` } },
          required: [FIELD],
        },
      }),
    },
    requestState: await codec.mint({ digest: digestOf(what, asked) }, context),
  });
}

function digestOf(what: unknown, { amountUnits, title, seller }: SpendQuestion): string {
  return createHash('sha256')
    .update(JSON.stringify([what, amountUnits.toString(), title, seller]))
    .digest('hex');
}
