import { renderShell } from '../shell/render-shell.ts';
import type { PagePlan, Scene, Shown } from './page-plan.ts';

export function writePage(plan: PagePlan, answer: string, scene: Scene): string {
  return plan.document?.write(answer, scene) ?? writeShown(plan.show(answer, scene));
}

export function writeShown(shown: Shown): string {
  return renderShell(shown);
}
