import type { Sabotage } from '../sabotage.ts';
import { bug } from './agent.ts';

const IMPORTS = 'src/agent/export/purchases.ts';
const RESTORES = ['src/agent/export/purchases.test.ts'];

/** Bugs in files that are read, sold and restored. */
export const FILES: readonly Sabotage[] = [
  bug(
    'files-of-other-folders-are-sold',
    'src/mcp-server/tools/sell.ts',
    "if (!isAbsolute(inside) && !inside.split(/[\\\\/]/).some((part) => part.startsWith('.'))) return full;",
    'if (full !== folder) return full;',
    ['src/mcp-server/serve-tools.test.ts'],
  ),
  bug(
    'fees-above-what-was-agreed-to',
    'src/agent/export/import-store.ts',
    'if (typed.message.value > left) {',
    'if (left < 0n) {',
    ['src/agent/export/import-store.test.ts'],
  ),
  bug(
    'copies-lead-to-other-markets',
    IMPORTS,
    'const [stranger] = open.filter((market) => !isTrusted(market));',
    'const [stranger] = open.filter(() => false);',
    RESTORES,
  ),
  bug(
    'any-signature-of-an-export',
    IMPORTS,
    'if (content.signature !== null && !isSigned)',
    "if (content.signature === '')",
    RESTORES,
  ),
  bug(
    'copies-are-believed',
    IMPORTS,
    'const verified = isSigned && isVerified(file.record);',
    'const verified = isSigned || isVerified(file.record);',
    RESTORES,
  ),
  bug(
    'copies-with-payments-that-were-never-signed',
    IMPORTS,
    'if (record.saved !== null) return await isSignedProof(record, wallet);',
    'if (record.saved !== null) return true;',
    RESTORES,
  ),
  bug(
    'keys-are-sold',
    'src/cli/commands/mcp.ts',
    'if (isWithin(full, sold) || isWithin(sold, full))',
    'if (full === sold)',
    ['src/cli/sell-from.test.ts'],
  ),
  bug(
    'exports-open-other-folders',
    'src/agent/export/export-folder.ts',
    'if (FILE_NAME.test(name) && !leadsOut) return;',
    'if (!leadsOut) return;',
    ['src/agent/export/export-folder.test.ts'],
  ),
  bug('wallet-files-that-others-can-read', 'src/agent/own-file.ts', 'forbiddenBits: 0o077,', 'forbiddenBits: 0,', [
    'src/agent/open-wallet.test.ts',
  ]),
];
