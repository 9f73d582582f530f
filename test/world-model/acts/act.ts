import type { Person } from '../../world/thing-stage.ts';
import type { Run } from '../run.ts';

/** One act of a participant. Its text is how a failing run is told. */
export abstract class Act<Given extends object> {
  protected readonly given: Given;
  /** The run came to it. */
  hasRun = false;

  constructor(given: Given) {
    this.given = given;
  }

  abstract run(run: Run): Promise<void>;

  toString(): string {
    return `${this.hasRun ? '' : 'not reached: '}${this.constructor.name} ${JSON.stringify(this.given)}`;
  }
}

/** The newest first: what was begun last is most often what comes next. */
export const recent = <T>(all: readonly T[], nth: number): T | undefined =>
  all.length === 0 ? undefined : all[all.length - 1 - (nth % all.length)];

export const otherThan = (run: Run, who: Person): Person => run.buyers.find((one) => one !== who) ?? who;
export function never(): never {
  throw new TypeError('there is none');
}
