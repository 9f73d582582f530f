import type { Cli, Done } from '../cli.ts';
import { wrongUse } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { toolContextOf } from '../tool-context-of.ts';

async function run(cli: Cli): Promise<Done> {
  const { options, note } = cli;
  if (options.json === true) throw wrongUse('mcp speaks its own protocol on the standard output: leave --json out');
  const context = toolContextOf(cli);
  // The library takes longer to load than most commands run.
  const { serveTools } = await import('../../mcp-server/serve-tools.ts');
  note(`serving the tools of ${context.client.baseUrl} on the standard input and output`);
  await serveTools(context, { until: cli.interruption() });
  return { lines: [], json: null, secrets: [] };
}

export const mcp: Command = {
  name: 'mcp',
  summary: 'serves tools to a model over the standard input and output, which search, buy under the policy, and sell',
  positionals: [],
  options: ['wallet', 'policy', 'dir', 'rpc', 'handle', 'file', 'sell-from'],
  examples: [
    'openaisle mcp --market https://market.example',
    'openaisle mcp --market https://market.example --wallet agent.json --policy agent-policy.json --sell-from outbox',
  ],
  run,
};
