import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readPolicy } from '../agent/policy.ts';
import { COMMANDS } from '../cli/commands.ts';
import { readArguments } from '../cli/read-arguments.ts';

const guide = readFileSync(new URL('../../docs/mcp-local.md', import.meta.url), 'utf8');

const env = z.record(z.string(), z.string()).optional();
const program = { command: z.string().min(1), args: z.array(z.string()), env };
const named = <T extends z.ZodType>(server: T) => z.record(z.string(), server);
/** Documented schema of each host's configuration file, by file name. */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  '.mcp.json': z.strictObject({ mcpServers: named(z.strictObject({ type: z.literal('stdio'), ...program })) }),
  'claude_desktop_config.json': z.strictObject({ mcpServers: named(z.strictObject(program)) }),
  '.cursor/mcp.json': z.strictObject({
    mcpServers: named(z.strictObject({ type: z.literal('stdio').optional(), ...program })),
  }),
  '.vscode/mcp.json': z.strictObject({
    inputs: z.array(z.unknown()).optional(),
    servers: named(z.strictObject({ type: z.literal('stdio'), ...program })),
  }),
};

/** Pairs each code block with the file name before it. */
const blocks = [...guide.matchAll(/`([^`\n]*\.json)`(?:(?!`[^`\n]*\.json`|```)[\s\S])*```json\n([\s\S]*?)```/g)].map(
  ([, file = '', text = '']) => ({ file, text }),
);

test('there is a block for each host', () => {
  const files = blocks.map(({ file }) => file).filter((file) => file in SHAPES);
  expect(files).toEqual(Object.keys(SHAPES));
});

test.each(Object.keys(SHAPES))('%s has the shape of its host, and starts a command that there is', (file) => {
  const read: unknown = JSON.parse(blocks.find((block) => block.file === file)?.text ?? '');
  const parsed = SHAPES[file]?.safeParse(read);
  expect(parsed?.error?.issues ?? []).toEqual([]);
  const [servers] = Object.values(read as Record<string, Record<string, { command: string; args: string[] }>>);
  for (const { command, args } of Object.values(servers ?? {})) expectCommand([command, ...args]);
});

test('so does the one line', () => {
  const [, name, line = ''] = /mcp add (\S+) -- (.+)/.exec(guide) ?? [];
  expect(name).toBe('openaisle');
  expectCommand(line.split(' '));
});

function expectCommand([npx, yes, own, ...args]: readonly string[]): void {
  expect([npx, yes, own]).toEqual(['npx', '-y', 'openaisle']);
  const { command, mode, options } = readArguments(args, COMMANDS);
  expect([command?.name, mode, options.market]).toEqual(['mcp', 'run', 'https://market.example']);
}

test('the policy in the guide is one', async () => {
  const text = blocks.find(({ file }) => file.endsWith('policy.json'))?.text ?? '';
  const home = await mkdtemp(join(tmpdir(), 'openaisle-guide-'));
  try {
    const file = join(home, 'policy.json');
    await writeFile(file, text);
    expect(await readPolicy({}, file)).toMatchObject({ perPurchaseUnits: 2_000_000n, askAboveUnits: 1_000_000n });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
