import type { Reference } from '../reference.ts';
import type { Run } from '../run.ts';
import { Act } from './act.ts';

export class Reorg extends Act<{ depth: number; keep: number; shift: number }> {
  async run(_reference: Reference, run: Run): Promise<void> {
    const { depth, keep, shift } = this.given;
    await run.stage.reorg(depth, keep, shift);
    await run.sync();
  }
}

export class Finalize extends Act<object> {
  async run(_reference: Reference, run: Run): Promise<void> {
    await run.stage.finalize();
    await run.sync();
  }
}

export class Wait extends Act<{ seconds: number }> {
  async run(_reference: Reference, run: Run): Promise<void> {
    await run.stage.wait(this.given.seconds);
    await run.sync();
  }
}

/**
 * Cuts one provider so that only the other counts, or restores both. The market stops waiting for a provider that is silent for a minute.
 */
export class SwitchProvider extends Act<{ dark: 0 | 1 | null }> {
  async run(reference: Reference, run: Run): Promise<void> {
    const { dark } = this.given;
    if (dark === null) await run.stage.mendProviders();
    else await run.stage.cutProvider(dark);
    await run.sync();
    reference.isFirstDark = dark === 0;
  }
}

export class Pass extends Act<object> {
  async run(reference: Reference, run: Run): Promise<void> {
    await run.stage.market.pass();
    reference.pass();
  }
}

export class Restart extends Act<object> {
  async run(_reference: Reference, run: Run): Promise<void> {
    await run.restart();
  }
}
