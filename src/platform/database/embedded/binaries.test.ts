import { expect, test } from 'vitest';
import { findBinaries } from './binaries.ts';

test('a platform without binaries is told so, and what to do', async () => {
  await expect(findBinaries('plan9-mips')).rejects.toThrow(/plan9-mips.*set DATABASE_URL/);
});
