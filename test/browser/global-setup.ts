import type { TestProject } from 'vitest/node';
import setupTests from '../support/global-setup.ts';
import { findChromium } from './find-chromium.ts';

/** Chromium first, in one process: workers that install it side by side are in each other's way. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  findChromium();
  return await setupTests(project);
}
