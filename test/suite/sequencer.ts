import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { readKeptDurations } from './durations.ts';
import { PROJECTS } from './projects.ts';

/** Orders files by suite, the longest file of each first. A file without a recorded duration counts as long. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = readKeptDurations();
    const places = new Map(PROJECTS.map(({ name }, place) => [name, place]));
    const placeOf = ({ project }: TestSpecification): number => places.get(project.name) ?? 0;
    const secondsOf = ({ project, moduleId }: TestSpecification): number =>
      durations[relative(project.vitest.config.root, moduleId)] ?? Number.MAX_SAFE_INTEGER;
    return files.toSorted((a, b) => placeOf(a) - placeOf(b) || secondsOf(b) - secondsOf(a));
  }
}
