/** Folders that a family of tests is about. Its processes load them, which no import of the test shows. */
const SUBJECTS: readonly { tests: RegExp; folders: readonly string[] }[] = [
  {
    tests: /^test\/(?:world\/(?:kills|faults|faulty-node|reorgs|life|thing)|model\/|history\/)/,
    folders: ['src/market/payments/', 'src/market/purchases/', 'src/market/listings/', 'migrations/'],
  },
  { tests: /^src\/facilitator\//, folders: ['src/facilitator/'] },
  { tests: /^src\/cli\//, folders: ['src/agent/', 'src/sdk/payments/'] },
  { tests: /^test\/recipes\//, folders: ['CONTRIBUTING.md'] },
  { tests: /^test\/guides\//, folders: ['docs/', 'packages/', 'src/cli/', 'src/sdk/'] },
  { tests: /^test\/browser\//, folders: ['src/wallet/', 'src/market/pages/'] },
];

const ROTATION = 'test/suite/rotation.ts';

/**
 * Lists the files with rotated cases that a change touches. Followed are the imports of tests and support files, and one step into `src`:
 * further in, nearly every test leads to nearly every file.
 */
export function touchedFiles(
  imports: readonly { from: string; to: string }[],
  changed: readonly string[],
): readonly string[] {
  const importedBy = Map.groupBy(imports, ({ from }) => from);
  const changedFiles = new Set(changed.filter((path) => path !== ROTATION));
  return [...importedBy.keys()].filter((file) => {
    const reached = new Set([file]);
    for (const path of reached) {
      if (path.startsWith('src/') && path !== file) continue;
      for (const { to } of importedBy.get(path) ?? []) reached.add(to);
    }
    if (!reached.has(ROTATION)) return false;
    if ([...reached].some((path) => changedFiles.has(path))) return true;
    const folders = SUBJECTS.filter(({ tests: about }) => about.test(file)).flatMap((subject) => subject.folders);
    return folders.some((folder) => changed.some((path) => path.startsWith(folder)));
  });
}
