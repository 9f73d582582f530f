import { META } from '../../contract/tools.ts';
import type { Client } from '../../sdk/client.ts';
import { connectTools, type Revision, type ToolAnswer, type ToolCall, type Tools } from '../connect-tools.ts';
import { createToolClient } from '../speak-by-tools.ts';
import { check, type Goods, personOf, type Scene } from './scene.ts';

export interface ToolExchange {
  call: ToolCall;
  answer: ToolAnswer;
  /** Status of the same answer over HTTP, except that 200 stands for 201 too. */
  status: number;
}

export interface ToolUser extends AsyncDisposable {
  tools: Tools;
  client: Client;
  exchanges: ToolExchange[];
  progressCount(): number;
}

/** Connects a merchant's agent whose calls are reported. Reports metadata by name only. */
export async function useTools(scene: Scene, handle: string, revision: Revision): Promise<ToolUser> {
  const { tell, world } = scene;
  const exchanges: ToolExchange[] = [];
  let progressSeen = 0;
  const { key } = personOf(scene, handle);
  const tools = await connectTools({
    ...{ baseUrl: world.marketUrl, revision, key },
    watcher: {
      asking: (call) => tell({ kind: 'asking', ...callText(call) }),
      answered: (call, answer) => {
        const status = statusOf(answer);
        exchanges.push({ call, answer, status });
        tell({ kind: 'request', ...callText(call), status, word: describeOutcome(answer) });
      },
      progress: (seconds, total) => {
        progressSeen += 1;
        const of = total === undefined ? '' : ` of about ${Math.ceil(total)}`;
        tell({ kind: 'waiting', text: `the market says how far it is: ${Math.floor(seconds)}${of} s` });
      },
    },
  });
  const client = createToolClient(tools, { baseUrl: world.marketUrl, key });
  return {
    ...{ tools, client, exchanges },
    progressCount: () => progressSeen,
    [Symbol.asyncDispose]: () => tools[Symbol.asyncDispose](),
  };
}

function callText({ name, arguments: args, meta = {} }: ToolCall): { method: string; path: string; sent: string[] } {
  const what = args['id'] ?? args['q'] ?? '';
  const dry = args['dry_run'] === true ? ['dry_run: true'] : [];
  return { method: 'tool', path: `${name} ${String(what)}`.trimEnd(), sent: [...dry, ...Object.keys(meta)] };
}

function statusOf({ refused, body }: ToolAnswer): number {
  if (refused) return Number(body['status']);
  return body['status'] === 'payment_pending' ? 202 : 200;
}

function describeOutcome({ body }: ToolAnswer): string {
  return typeof body['reason'] === 'string' ? body['reason'] : '';
}

/** Lists the distinct proofs that were sent. */
export function proofsSent(exchanges: readonly ToolExchange[]): Set<string> {
  const proofs = exchanges.map(({ call }) => call.meta?.[META.payment]);
  return new Set(proofs.filter((proof) => proof !== undefined).map((proof) => JSON.stringify(proof)));
}

/** Checks the steps of a payment by a tool: requested, signed once, awaited inside the call, answered. */
export function checkPaidByTool(
  scene: Scene,
  { exchanges, progressCount }: ToolUser,
  paid: { tool: string; payee: string; payeeName: string; units: bigint; priceUsdc: Goods['priceUsdc'] },
): ToolExchange[] {
  // Leave out dry runs, and calls with `collect`, which only ask whether the buyer already owns the goods.
  const isLook = ({ call }: ToolExchange): boolean =>
    call.arguments['dry_run'] === true || call.arguments['collect'] === true;
  const requests = exchanges.filter((exchange) => exchange.call.name === paid.tool && !isLook(exchange));
  const [first, ...later] = requests;
  const { x402Version, accepts } = first?.answer.body ?? {};
  const [offer] = (Array.isArray(accepts) ? accepts : []) as Record<string, unknown>[];
  const named = String(offer?.['payTo']).toLowerCase() === paid.payee && offer?.['amount'] === paid.units.toString();
  check(
    scene,
    first?.status === 402 && x402Version === 2 && named,
    `an error result with x402 v2: it is to sign ${paid.priceUsdc} USDC to ${paid.payeeName}`,
  );
  const inOrder = later.every(
    ({ status, answer }, index) =>
      answer.body['do_not_pay_again'] !== false && (index === later.length - 1 ? status === 200 : status !== 402),
  );
  check(
    scene,
    later.length > 0 && inOrder && proofsSent(requests).size === 1,
    `one proof, in _meta["${META.payment}"]; it was told ${progressCount()} times how far it is, and then had what it paid for`,
  );
  return requests;
}
