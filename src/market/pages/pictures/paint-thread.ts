import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { initWasm } from '@resvg/resvg-wasm';
import { answerQuestions } from '../../../platform/answer-questions.ts';
import { createPainter } from './paint-picture.ts';

await initWasm(readFile(createRequire(import.meta.url).resolve('@resvg/resvg-wasm/index_bg.wasm')));
answerQuestions(createPainter());
