import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { OnBytes, SpendOptions } from '../agent/spend-options.ts';
import { own } from '../contract/own-words.ts';
import type { Environment } from '../sdk/environment.ts';
import type { OnProgress } from '../sdk/payments/payment-run.ts';
import { askPerson, confirmOf, NeedsPerson, type QuestionCodec } from './ask-person.ts';
import { answerOf, type ToolAnswer, type ToolContext, toolResult } from './tool-context.ts';

export interface PayOptions extends FollowOptions {
  confirm?: SpendOptions['confirm'] & {};
}

export interface ToolCall {
  signal: AbortSignal;
  /** Runs work that pays or waits for a payment. */
  pay<T>(work: (paying: PayOptions) => Promise<T>): Promise<T>;
}

interface ToolDefinition<Input extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  hints: Required<Omit<ToolAnnotations, 'title'>>;
  run(context: ToolContext, args: z.output<Input>, call: ToolCall): Promise<ToolAnswer>;
}

export interface LocalTool {
  name: string;
  addTo(server: McpServer, context: ToolContext, codec: QuestionCodec): void;
}

export const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true } as const;
/** For tools that spend. Repeating a call spends nothing more. */
export const PAYS = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true } as const;

/** Makes a tool that always answers with a result a model can read; messages of thrown errors never get out. */
export function localTool<Input extends z.ZodObject>(tool: ToolDefinition<Input>): LocalTool {
  const { name, title, description, input, hints } = tool;
  return {
    name,
    addTo: (server, context, codec) => {
      const annotations = { title, ...hints };
      // The library's types can't handle a schema that is a type parameter.
      const inputSchema = z.preprocess(withoutNulls, input) as unknown as z.ZodObject;
      server.registerTool(name, { title, description, inputSchema, annotations }, (args, call) =>
        answerCall({ tool, context, codec, args: args as z.output<Input>, call, server }),
      );
    },
  };
}

/** Drops nulls, because some hosts send null for arguments that the model left out. */
function withoutNulls(args: unknown): unknown {
  if (typeof args !== 'object' || args === null) return args;
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}

interface CallContext<Input extends z.ZodObject> {
  tool: ToolDefinition<Input>;
  context: ToolContext;
  codec: QuestionCodec;
  args: z.output<Input>;
  call: ServerContext;
  server: McpServer;
}

async function answerCall<Input extends z.ZodObject>(
  callContext: CallContext<Input>,
): Promise<CallToolResult | InputRequiredResult> {
  const { tool, context, codec, args, call, server } = callContext;
  const asking = { what: [tool.name, args], context: call, capabilities: server.server.getClientCapabilities() };
  const confirm = confirmOf(asking);
  try {
    const answer = await tool.run(context, args, {
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
/** Extra time for one request to the market before it is aborted. The payment can be resumed from the book. */
const GRACE_MS = 8_000;

/** Options by which a payment reports to its tool call and is stopped by it. */
export interface FollowOptions {
  onProgress: OnProgress;
  onBytes: OnBytes;
  signal: AbortSignal;
  maxWaitSeconds: number;
}

/**
 * Runs work that may wait for the chain and reports progress every few seconds, so that the host keeps waiting. Ends when the caller gives
 * up, or soon after `patienceSeconds`.
 */
export async function followPayment<T>(
  tools: Pick<ToolContext, 'client' | 'sayProgress' | 'patienceSeconds' | 'clean'>,
  { mcpReq }: Pick<ServerContext, 'mcpReq'>,
  work: (follow: FollowOptions) => Promise<T>,
): Promise<T> {
  const { environment } = tools.client;
  const done = new AbortController();
  let progress = 0;
  let message = own`starting`;
  const notifyHost = (): void => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    progress += 1;
    const params = { progressToken, progress, message: tools.clean(message) };
    // A host that is gone aborts the call's signal.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  const sayBytes: OnBytes = ({ way, done: arrived, bytes }) => {
    const verb = way === 'upload' ? own`uploaded` : own`downloaded`;
    message = own`${verb} ${arrived} of ${bytes} bytes`;
  };
  const ticking = tickUntil(environment, notifyHost, done.signal);
  try {
    return await work({
      onProgress: (state) => {
        const next = tools.sayProgress(state) ?? message;
        if (next === message) return;
        message = next;
        notifyHost();
      },
      onBytes: sayBytes,
      signal: AbortSignal.any([mcpReq.signal, environment.deadline(tools.patienceSeconds * 1_000 + GRACE_MS)]),
      maxWaitSeconds: tools.patienceSeconds,
    });
  } finally {
    done.abort();
    await ticking;
  }
}

async function tickUntil({ sleep }: Pick<Environment, 'sleep'>, act: () => void, until: AbortSignal): Promise<void> {
  for (;;) {
    const isOver = await sleep(EVERY_MS, until).then(
      () => false,
      () => true,
    );
    if (isOver || until.aborted) return;
    act();
  }
}
