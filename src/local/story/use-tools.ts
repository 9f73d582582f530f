import { META } from '../../contract/tools.ts';
import type { Client } from '../../sdk/client.ts';
import { connectTools, type Revision, type ToolAnswer, type ToolCall, type Tools } from '../connect-tools.ts';
import { speakByTools } from '../speak-by-tools.ts';
import { type Goods, hold, person, type Scene } from './scene.ts';

/** One call of a tool and what came back. */
export interface ToolExchange {
  call: ToolCall;
  answer: ToolAnswer;
  /** What HTTP would have said. */
  status: number;
}

export interface ToolUser extends AsyncDisposable {
  tools: Tools;
  /** The SDK over the same tools. */
  client: Client;
  exchanges: ToolExchange[];
  /** How often it was told how far a payment is. */
  timesTold(): number;
}

/** A merchant's agent whose calls are told; what travels next to their arguments is told by its name alone. */
export async function useTools(scene: Scene, handle: string, revision: Revision): Promise<ToolUser> {
  const { tell, world } = scene;
  const exchanges: ToolExchange[] = [];
  let told = 0;
  const { key } = person(scene, handle);
  const tools = await connectTools({
    ...{ baseUrl: world.marketUrl, revision, key },
    watcher: {
      asking: (call) => tell({ kind: 'asking', ...shown(call) }),
      answered: (call, answer) => {
        const status = statusOf(answer);
        exchanges.push({ call, answer, status });
        tell({ kind: 'request', ...shown(call), status, word: wordOf(answer) });
      },
      progress: (seconds, total) => {
        told += 1;
        const of = total === undefined ? '' : ` of about ${Math.ceil(total)}`;
        tell({ kind: 'waiting', text: `the market says how far it is: ${Math.floor(seconds)}${of} s` });
      },
    },
  });
  const client = speakByTools(tools, { baseUrl: world.marketUrl, key });
  return {
    ...{ tools, client, exchanges },
    timesTold: () => told,
    [Symbol.asyncDispose]: () => tools[Symbol.asyncDispose](),
  };
}

function shown({ name, arguments: given, meta = {} }: ToolCall): { method: string; path: string; sent: string[] } {
  const what = given['id'] ?? given['q'] ?? '';
  const dry = given['dry_run'] === true ? ['dry_run: true'] : [];
  return { method: 'tool', path: `${name} ${String(what)}`.trimEnd(), sent: [...dry, ...Object.keys(meta)] };
}

function statusOf({ refused, body }: ToolAnswer): number {
  if (refused) return Number(body['status']);
  return body['status'] === 'payment_pending' ? 202 : 200;
}

function wordOf({ body }: ToolAnswer): string {
  return typeof body['reason'] === 'string' ? body['reason'] : '';
}

/** Every proof that went along, each once. */
export function proofsSent(exchanges: readonly ToolExchange[]): Set<string> {
  const proofs = exchanges.map(({ call }) => call.meta?.[META.payment]);
  return new Set(proofs.filter((proof) => proof !== undefined).map((proof) => JSON.stringify(proof)));
}

/** What every payment by a tool looks like: asked for, signed once, waited for inside the call, answered. */
export function holdPaidByTool(
  scene: Scene,
  { exchanges, timesTold }: ToolUser,
  paid: { tool: string; payee: string; payeeName: string; units: bigint; priceUsdc: Goods['priceUsdc'] },
): ToolExchange[] {
  // Whether the goods are its own already is asked before, by a signature over nothing.
  const isLook = ({ call }: ToolExchange): boolean =>
    call.arguments['dry_run'] === true || call.arguments['collect'] === true;
  const asked = exchanges.filter((exchange) => exchange.call.name === paid.tool && !isLook(exchange));
  const [first, ...later] = asked;
  const { x402Version, accepts } = first?.answer.body ?? {};
  const [offer] = (Array.isArray(accepts) ? accepts : []) as Record<string, unknown>[];
  const named = String(offer?.['payTo']).toLowerCase() === paid.payee && offer?.['amount'] === paid.units.toString();
  hold(
    scene,
    first?.status === 402 && x402Version === 2 && named,
    `an error result with x402 v2: it is to sign ${paid.priceUsdc} USDC to ${paid.payeeName}`,
  );
  const inOrder = later.every(
    ({ status, answer }, index) =>
      answer.body['do_not_pay_again'] !== false && (index === later.length - 1 ? status === 200 : status !== 402),
  );
  hold(
    scene,
    later.length > 0 && inOrder && proofsSent(asked).size === 1,
    `one proof, in _meta["${META.payment}"]; it was told ${timesTold()} times how far it is, and then had what it paid for`,
  );
  return asked;
}
