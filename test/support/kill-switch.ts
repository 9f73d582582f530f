export type Wire = 'database' | 'chain' | 'facilitator';

/** A moment on one of the wires between a market and what it rests on. */
export interface Trap {
  wire: Wire;
  /** Piece of a statement, name of a JSON-RPC method, path of a facilitator. */
  mark: string;
  /** Before it is passed on; or when it is done (a statement: its transaction is committed) and the market was not told. */
  when: 'before' | 'after';
}

/** What the wires ask whether this is the moment. */
export interface KillSwitch {
  arm(trap: Trap, kill: () => void): void;
  /** When to kill, if this is what the trap waits for. */
  meets(wire: Wire, text: string): Trap['when'] | null;
  /** Kills, the first time. False: another call did so already, and everything goes on. */
  spring(): boolean;
}

export function createKillSwitch(): KillSwitch {
  let armed: { trap: Trap; kill: () => void } | null = null;
  return {
    arm: (trap, kill) => {
      armed = { trap, kill };
    },
    meets: (wire, text) => {
      if (armed === null || armed.trap.wire !== wire || !text.includes(armed.trap.mark)) return null;
      return armed.trap.when;
    },
    spring: () => {
      if (armed === null) return false;
      const { kill } = armed;
      armed = null;
      kill();
      return true;
    },
  };
}
