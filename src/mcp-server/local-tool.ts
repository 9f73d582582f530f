import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { SpendOptions } from '../agent/buy-goods.ts';
import { type AskedCodec, askPerson, confirmOf, NeedsPerson } from './ask-person.ts';
import { type Follow, followPayment } from './follow-payment.ts';
import type { ToolContext } from './tool-context.ts';
import { answerOf, type ToolAnswer, toolResult } from './tool-result.ts';

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
  addTo(server: McpServer, context: ToolContext, codec: AskedCodec): void;
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
      const inputSchema: z.ZodObject = input;
      server.registerTool(name, { title, description, inputSchema, annotations }, (given, call) =>
        answerCall({ tool, context, codec, given: given as z.output<Input>, call, server }),
      );
    },
  };
}

interface Answering<Input extends z.ZodObject> {
  tool: ToolDefinition<Input>;
  context: ToolContext;
  codec: AskedCodec;
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
