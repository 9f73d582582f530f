import type { Scene } from './scene.ts';

/** One act of the story. It tells its requests as they happen, and stops the story at the first thing that is not as it says. */
export interface Step {
  /** For scripts and for the line that says what failed. */
  name: string;
  title: string;
  run(scene: Scene): Promise<void>;
}
