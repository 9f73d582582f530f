import { META } from '../../contract/tools.ts';
import { fenceText } from './fence-text.ts';
import type { ReadAnswer } from './read-answer.ts';

/** What a tool answers. The text is the data once more, for hosts that look at text only, fenced where merchants' words are in it. */
export interface ToolResult {
  [field: string]: unknown;
  content: [{ type: 'text'; text: string }];
  structuredContent: Record<string, unknown>;
  isError?: true;
  _meta?: Record<string, unknown>;
}

/** A route's answer as a tool's result: the body as it is, and next to it what HTTP says in headers. */
export function toolResult(answer: ReadAnswer, holdsMerchantText: boolean): ToolResult {
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  const asked = answer.status === 402 ? decoded(answer.headers['payment-required']) : null;
  const isError = answer.status >= 400;
  const receipt = decoded(answer.headers['payment-response']);
  const token = body['delivery_token'];
  const meta = {
    // What is asked for names the goods in their seller's words.
    ...(holdsMerchantText && (!isError || asked !== null) ? { [META.untrusted]: true } : {}),
    ...(receipt === null ? {} : { [META.receipt]: receipt }),
    ...(typeof token === 'string' ? { [META.deliveryToken]: token } : {}),
  };
  const structuredContent = asked === null ? body : { ...body, ...asked };
  const plain = asked === null ? answer.text : JSON.stringify(structuredContent);
  // What asks for money stays as x402 clients read it.
  const text = holdsMerchantText && !isError ? fenceText(plain) : plain;
  return {
    content: [{ type: 'text', text }],
    structuredContent,
    ...(isError ? { isError: true } : {}),
    ...(Object.keys(meta).length > 0 ? { _meta: meta } : {}),
  };
}

/** base64 of JSON, as x402 puts it into headers. */
function decoded(header: string | readonly string[] | undefined): Record<string, unknown> | null {
  if (typeof header !== 'string') return null;
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as Record<string, unknown>;
}
