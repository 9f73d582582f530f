import { readPolicy } from '../../src/agent/policy.ts';
import { openSpendBook } from '../../src/agent/spend-book.ts';
import { samplePlan } from './sample-spend.ts';

// Reserves 1 USDC under the key in the first argument, prints `reserved` or why it failed, and keeps the key locked until input ends.
const { env } = process;
const [key = ''] = process.argv.slice(2);
const book = openSpendBook({ env, address: `0x${'ab'.repeat(20)}` });
const inputEnd = new Promise((resolve) => process.stdin.resume().once('end', resolve));

try {
  await book.hold(key, async (held) => {
    await held.reserve(samplePlan({ key }), await readPolicy(env));
    process.stdout.write('reserved\n');
    await inputEnd;
  });
} catch (error) {
  const { parts } = error as { parts?: { reason: string } };
  process.stdout.write(`${parts?.reason ?? String(error)}\n`);
}
