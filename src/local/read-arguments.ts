import { parseArgs } from 'node:util';

export interface DemoArguments {
  exit: boolean;
  mcp: boolean;
  json: boolean;
  help: boolean;
  firstPort: number;
  finalityBlocks: number;
  dataDir: string;
}

export const HELP = `The local world: a chain with the real USDC, a facilitator, a market and a city, on this machine only.
It shows a sale step by step, then keeps the market open until Ctrl-C.

  npm run demo -- [options]

  --exit              stop after the story; exit code 0 only if every step succeeded
  --mcp               seller and buyer are agents that use only the market's MCP tools
  --ports N           the market's port; N+1 facilitator, N+2 city, N+3 chain (4020)
  --finality BLOCKS   blocks, one per second, until a transfer is final: an even number, at least 2 (4)
  --data DIR          folder that keeps everything between starts (./data/local)
  --json              print one JSON object per line
  --help              this text
`;

const LAST_PORT = 65_535;
const MAX_BLOCKS = 1_000;

export class WrongArguments extends Error {
  override readonly name = 'WrongArguments';
}

export function readArguments(args: readonly string[]): DemoArguments {
  const { exit, mcp, json, help, ports, finality, data } = parseOptions(args);
  const firstPort = wholeNumber(ports);
  if (firstPort === null || firstPort < 1 || firstPort + 3 > LAST_PORT) {
    throw new WrongArguments(`--ports must be a whole number from 1 to ${LAST_PORT - 3}`);
  }
  const finalityBlocks = wholeNumber(finality);
  if (finalityBlocks === null || finalityBlocks < 2 || finalityBlocks > MAX_BLOCKS || finalityBlocks % 2 !== 0) {
    throw new WrongArguments(`--finality must be an even number from 2 to ${MAX_BLOCKS}`);
  }
  if (data === '') throw new WrongArguments('--data must be a folder');
  return { exit, mcp, json, help, firstPort, finalityBlocks, dataDir: data };
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        exit: { type: 'boolean', default: false },
        mcp: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        ports: { type: 'string', default: '4020' },
        finality: { type: 'string', default: '4' },
        data: { type: 'string', default: './data/local' },
      },
    }).values;
  } catch (error) {
    throw new WrongArguments(`${error instanceof Error ? error.message : String(error)}; see --help`);
  }
}

function wholeNumber(text: string): number | null {
  return /^(?:0|[1-9]\d{0,5})$/.test(text) ? Number(text) : null;
}
