import type { Person } from '../../world/thing-stage.ts';
import type { Run } from '../run.ts';

/** One act of a participant. Its text describes it in a failing run. */
export abstract class Act<Given extends object> {
  protected readonly given: Given;
  /** True once the run has reached this act. */
  hasRun = false;

  constructor(given: Given) {
    this.given = given;
  }

  abstract run(run: Run): Promise<void>;

  toString(): string {
    return `${this.hasRun ? '' : 'not reached: '}${this.constructor.name} ${JSON.stringify(this.given)}`;
  }
}

/** Picks by age, newest first, because the newest item is most often used next. */
export const recent = <T>(all: readonly T[], nth: number): T | undefined =>
  all.length === 0 ? undefined : all[all.length - 1 - (nth % all.length)];

export const otherThan = (run: Run, who: Person): Person => run.buyers.find((one) => one !== who) ?? who;
export function never(): never {
  throw new TypeError('there is none');
}
