import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { SpendOptions } from '../agent/spend-options.ts';
import { own } from '../contract/own-words.ts';
import type { Environment } from '../sdk/environment.ts';
import type { OnProgress } from '../sdk/payments/payment-run.ts';
import { askPerson, confirmOf, NeedsPerson, type QuestionCodec } from './ask-person.ts';
import { answerOf, type ToolAnswer, type ToolContext, toolResult } from './tool-context.ts';

/** What a payment takes from the call that makes it. */
export interface Paying extends Follow {
  confirm?: SpendOptions['confirm'] & {};
}

/** One call of a tool. */
export interface ToolCall {
  signal: AbortSignal;
  /** For work that pays or waits for a payment. */
  pay<T>(work: (paying: Paying) => Promise<T>): Promise<T>;
}

interface ToolDefinition<Input extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  hints: Required<Omit<ToolAnnotations, 'title'>>;
  run(context: ToolContext, given: z.output<Input>, call: ToolCall): Promise<ToolAnswer>;
}

export interface LocalTool {
  name: string;
  addTo(server: McpServer, context: ToolContext, codec: QuestionCodec): void;
}

export const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true } as const;
/** It spends. The same call again spends nothing more. */
export const PAYS = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true } as const;

/** A tool whose every end is a result that a model can read: nothing that is thrown gets out in its own words. */
export function localTool<Input extends z.ZodObject>(tool: ToolDefinition<Input>): LocalTool {
  const { name, title, description, input, hints } = tool;
  return {
    name,
    addTo: (server, context, codec) => {
      const annotations = { title, ...hints };
      // The library's own types do not follow a schema that is a type parameter.
      const inputSchema = z.preprocess(withoutNulls, input) as unknown as z.ZodObject;
      server.registerTool(name, { title, description, inputSchema, annotations }, (given, call) =>
        answerCall({ tool, context, codec, given: given as z.output<Input>, call, server }),
      );
    },
  };
}

/** Hosts fill in null for what a model leaves out: it is as if it was not given. */
function withoutNulls(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}

interface Answering<Input extends z.ZodObject> {
  tool: ToolDefinition<Input>;
  context: ToolContext;
  codec: QuestionCodec;
  given: z.output<Input>;
  call: ServerContext;
  server: McpServer;
}

async function answerCall<Input extends z.ZodObject>(
  answering: Answering<Input>,
): Promise<CallToolResult | InputRequiredResult> {
  const { tool, context, codec, given, call, server } = answering;
  const asking = { what: [tool.name, given], context: call, capabilities: server.server.getClientCapabilities() };
  const confirm = confirmOf(asking);
  try {
    const answer = await tool.run(context, given, {
      signal: call.mcpReq.signal,
      pay: (work) =>
        followPayment(context, call, (follow) => work({ ...follow, ...(confirm === undefined ? {} : { confirm }) })),
    });
    return toolResult(context, answer);
  } catch (error) {
    if (error instanceof NeedsPerson) return await askPerson(context, codec, asking, error);
    return toolResult(context, await answerOf(context, tool.name, error));
  }
}

const EVERY_MS = 3_000;
/** What one request of the market may take longer than the patience before it is broken off: the book goes on from there. */
const GRACE_MS = 8_000;

/** What a payment takes from the call that makes it. */
export interface Follow {
  onProgress: OnProgress;
  signal: AbortSignal;
  maxWaitSeconds: number;
}

/**
 * Does work that may wait for a chain, and tells the host every few seconds how far it is, so that the host goes on waiting. It ends
 * when the caller gives up, and soon after the patience is over.
 */
export async function followPayment<T>(
  tools: Pick<ToolContext, 'client' | 'sayProgress' | 'patienceSeconds' | 'clean'>,
  { mcpReq }: Pick<ServerContext, 'mcpReq'>,
  work: (follow: Follow) => Promise<T>,
): Promise<T> {
  const { environment } = tools.client;
  const done = new AbortController();
  let progress = 0;
  let message = own`looking at it`;
  const tell = (): void => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    progress += 1;
    const params = { progressToken, progress, message: tools.clean(message) };
    // A host that is gone ends the call by its signal.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  const ticking = tickUntil(environment, tell, done.signal);
  try {
    return await work({
      onProgress: (told) => {
        const said = tools.sayProgress(told) ?? message;
        if (said === message) return;
        message = said;
        tell();
      },
      signal: AbortSignal.any([mcpReq.signal, environment.deadline(tools.patienceSeconds * 1_000 + GRACE_MS)]),
      maxWaitSeconds: tools.patienceSeconds,
    });
  } finally {
    done.abort();
    await ticking;
  }
}

async function tickUntil({ sleep }: Pick<Environment, 'sleep'>, tell: () => void, until: AbortSignal): Promise<void> {
  for (;;) {
    const isOver = await sleep(EVERY_MS, until).then(
      () => false,
      () => true,
    );
    if (isOver || until.aborted) return;
    tell();
  }
}
