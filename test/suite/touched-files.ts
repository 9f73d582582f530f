/** Folders that a family of tests is about. The test's processes load them, which no import of the test shows. */
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

interface Import {
  from: string;
  to: string;
}

/** Lists the tests and support files that lead to rotated cases, each with everything that it imports, up to one step into `src`. */
export function rotatedFiles(imports: readonly Import[]): ReadonlyMap<string, ReadonlySet<string>> {
  const importedBy = Map.groupBy(imports, ({ from }) => from);
  const files = new Map<string, ReadonlySet<string>>();
  for (const file of importedBy.keys()) {
    const reached = new Set([file]);
    for (const path of reached) {
      if (path.startsWith('src/') && path !== file) continue;
      for (const { to } of importedBy.get(path) ?? []) reached.add(to);
    }
    if (reached.has(ROTATION)) files.set(file, reached);
  }
  return files;
}

/**
 * Lists the files with rotated cases that a change affects, by their imports and by the folders that they are about. Follows imports one
 * step into `src`, because further steps lead from nearly every test to nearly every file.
 */
export function touchedFiles(imports: readonly Import[], changed: readonly string[]): readonly string[] {
  const changedFiles = new Set(changed.filter((path) => path !== ROTATION));
  const touched = [...rotatedFiles(imports)].filter(([file, reached]) => {
    if ([...reached].some((path) => changedFiles.has(path))) return true;
    const folders = SUBJECTS.filter(({ tests: about }) => about.test(file)).flatMap((subject) => subject.folders);
    return folders.some((folder) => changed.some((path) => path.startsWith(folder)));
  });
  return touched.map(([file]) => file);
}
