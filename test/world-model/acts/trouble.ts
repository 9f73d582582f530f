import { type Reorganisation, reorganise } from '../chain.ts';
import type { Run } from '../run.ts';
import { Act } from './act.ts';

/** Mines blocks. All blocks before the last four are final. */
export class Mine extends Act<{ blocks: number }> {
  async run(run: Run): Promise<void> {
    await run.runAct('mine', () => run.stage.sites.market.chain.mine(this.given.blocks));
  }
}

export class Reorg extends Act<Reorganisation> {
  async run(run: Run): Promise<void> {
    await run.runAct('reorg', () => reorganise(run.stage.sites.market.chain, this.given));
  }
}

export class Wait extends Act<{ seconds: number }> {
  async run(run: Run): Promise<void> {
    const { time, sites } = run.stage;
    await run.runAct('wait', () => time.moveOn(sites.market, this.given.seconds));
  }
}

export class RestartCity extends Act<object> {
  async run(run: Run): Promise<void> {
    await run.runAct('restart', run.stage.restartCity, ({ reference, seen }, before) =>
      reference.judgeLook(before, seen),
    );
  }
}
