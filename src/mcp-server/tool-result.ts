import { createHash } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { fenceText } from '../contract/text.ts';
import { META } from '../contract/tools.ts';
import { PaymentUndecided } from '../sdk/payments/payment-run.ts';
import type { ToolContext } from './tool-context.ts';

/** What a tool answers. */
export interface ToolAnswer {
  /** Our own words and numbers: never a text of a seller, nor a name or a path that is made of one. */
  said: readonly string[];
  data: Readonly<Record<string, unknown>>;
  /** A seller's text may stand in the data. */
  untrusted: boolean;
  isError?: true;
}

type Cleaner = Pick<ToolContext, 'clean'>;

/** Data for programs, and the same as text for hosts that show a model nothing else: fenced where sellers' words are in it. */
export function toolResult({ clean }: Cleaner, { said, data, untrusted, isError }: ToolAnswer): CallToolResult {
  const structuredContent = cleaned(data, clean) as Record<string, unknown>;
  const json = JSON.stringify(structuredContent);
  const lines = said.map((line) => clean(line).replaceAll('\n', ' '));
  return {
    content: [{ type: 'text', text: [...lines, untrusted ? fenceText(json, sha256) : json].join('\n') }],
    structuredContent,
    ...(untrusted ? { _meta: { [META.untrusted]: true } } : {}),
    ...(isError === true ? { isError } : {}),
  };
}

function cleaned(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => cleaned(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cleaned(one, clean)]));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** How a call ends that is not done: waiting is no error, since the same call goes on. */
export async function answerOf(
  context: Pick<ToolContext, 'troubleOf'>,
  tool: string,
  error: unknown,
): Promise<ToolAnswer> {
  const again = `Call ${tool} again with the same arguments: it goes on with the same payment, and pays nothing twice.`;
  if (error instanceof PaymentUndecided)
    return {
      said: [`Still waiting for the payment to be final. ${again}`],
      data: { status: 'waiting', do_not_pay_again: true, next_step: again },
      untrusted: false,
    };
  const trouble = await context.troubleOf(error);
  const { status, reason, title, detail, next_step, file } = trouble;
  const verdict = { refused: 'Refused', wrong_use: 'Not done', unknown: 'Outcome unknown' }[status];
  return {
    said: [
      `${verdict}: ${title} (${reason})`,
      ...(detail === undefined || detail === title ? [] : [detail]),
      ...(next_step === undefined ? [] : [`Next: ${next_step}`]),
    ],
    data: { ...trouble },
    untrusted: file !== undefined,
    isError: true,
  };
}
