import { runAudit } from './run-audit.ts';

process.exitCode = await runAudit(process.argv.slice(2), {
  say: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
});
