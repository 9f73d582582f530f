import { answerQuestions } from '../../../platform/answer-questions.ts';
import { createTextReader } from './text-reader.ts';

answerQuestions(createTextReader());
