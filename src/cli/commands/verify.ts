import { findPurchase } from '../../agent/list-purchases.ts';
import { openChain } from '../../agent/read-chain.ts';
import { verifyGoods } from '../../agent/verify-goods.ts';
import type { Cli, Done } from '../cli.ts';
import { CliError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { namedMarket } from '../find-file.ts';
import { openBook } from '../open-purse.ts';

async function run(cli: Cli): Promise<Done> {
  const { options, env, positionals } = cli;
  const record = await findPurchase(await openBook(cli), positionals[0] ?? '', namedMarket(cli));
  const rpc = options.rpc ?? env['OPENAISLE_RPC'];
  const chain = rpc === undefined || rpc === '' ? undefined : await openChain(rpc);
  const report = await verifyGoods(record, { client: cli.connect(record.market), chain });
  const { path, commitment, goods, receipt, market } = report;
  const unpaid = receipt === null ? 'nothing was paid for them' : null;
  const lines = [
    `goods ${goods}: ${path}`,
    `commitment ${commitment}`,
    `market: ${unpaid ?? `${market?.status} (${market?.detail})`}`,
    `chain: ${unpaid ?? (report.chain === null ? 'not asked; --rpc URL asks it' : `${report.chain.status} (${report.chain.detail})`)}`,
  ];
  if (report.ok) return { lines, json: { ...report }, secrets: [] };
  const nextStep =
    'Keep the receipt. Goods that changed or are missing come again by openaisle buy, without a payment.';
  throw new CliError('refused', {
    reason: 'not_verified',
    title: 'Not everything is as it should be',
    detail: lines.join('\n'),
    nextStep,
  });
}

export const verify: Command = {
  name: 'verify',
  summary:
    'bought goods, by number or file: against the commitment of their listing, the market’s receipt and the chain',
  positionals: [{ name: 'GOODS', required: true }],
  options: ['rpc', 'wallet'],
  examples: ['openaisle verify 7', 'openaisle verify 7 --rpc https://rpc.example'],
  run,
};
