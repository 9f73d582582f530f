import { parseArgs } from 'node:util';
import { audit } from './audit.ts';

const HELP = `Compares the books of a market with the chain.

  node test/audit/main.ts --database URL --rpc URL [--token ADDRESS] [--quiet] [--json]

  --quiet   everything has had the time to end: what is still open is a fault
Exit code 0: they agree. 1: they do not. 2: wrong arguments.
`;
const BASE_USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';

const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    rpc: { type: 'string' },
    token: { type: 'string', default: BASE_USDC },
    quiet: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const { database, rpc } = values;
if (values.help || database === undefined || rpc === undefined) {
  process.stderr.write(HELP);
  process.exit(values.help ? 0 : 2);
}
const found = await audit({ databaseUrl: database, rpcUrl: rpc, token: values.token, quiet: values.quiet });
if (values.json) process.stdout.write(`${JSON.stringify(found)}\n`);
else {
  for (const fault of found.faults) process.stdout.write(`${fault}\n`);
  process.stdout.write(`${found.payments} payments, ${found.proofs} proofs, ${found.faults.length} faults\n`);
}
process.exitCode = found.faults.length === 0 ? 0 : 1;
