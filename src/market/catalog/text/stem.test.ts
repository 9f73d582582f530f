import { describe, expect, test } from 'vitest';
import { stemOf } from './stem.ts';

const stemsOf = (words: string): Set<string> => new Set(words.split(' ').map(stemOf));

test('forms of an English word have one stem', () => {
  for (const forms of ['design designs designed designing', 'story stories', 'translate translation translating']) {
    expect(stemsOf(forms).size, forms).toBe(1);
  }
});

test('words with digits or of other scripts stay as they are', () => {
  for (const word of ['gpt4s', 'x402', 'as', 'города', 'étés', '人', 'c++', 'constructor1', '.net']) {
    expect(stemOf(word)).toBe(word === '.net' ? '.net' : word);
  }
});

describe('British and American spelling have one stem', () => {
  test.each([
    ...['organise organize', 'organised organized', 'organisation organization', 'organisers organizers'],
    ...['optimise optimize optimising optimizing', 'optimisation optimization', 'summarise summarize'],
    ...['customisable customizable', 'visualisation visualization', 'tokeniser tokenizer', 'serialise serialize'],
    ...['analyse analyze', 'analysed analyzed', 'analysing analyzing', 'analyser analyzer', 'paralyse paralyze'],
    ...['colour color', 'colours colors', 'coloured colored', 'colouring coloring', 'colourful colorful'],
    ...['favour favor', 'favourite favorite', 'favourites favorites', 'behaviour behavior', 'behavioural behavioral'],
    ...['flavour flavor', 'neighbour neighbor', 'honour honor', 'honourable honorable', 'labour labor', 'odour odor'],
    ...['centre center', 'centres centers', 'centred centered', 'theatre theater', 'metre meter', 'litres liters'],
    ...['fibre fiber', 'calibre caliber', 'catalogue catalog', 'catalogues catalogs', 'catalogued cataloged'],
    ...['dialogue dialog', 'analogue analog', 'licence license', 'licences licenses', 'defence defense'],
    ...['offence offense', 'pretence pretense', 'practise practice', 'practising practicing', 'practised practiced'],
    ...['modelling modeling', 'labelled labeled', 'cancelled canceled', 'travelling traveling', 'grey gray'],
    ...['programme program', 'programmes programs', 'artefact artifact', 'judgement judgment', 'tyres tires'],
  ])('%s', (pair) => {
    expect(stemsOf(pair).size).toBe(1);
  });
});

describe('words that look alike stay apart', () => {
  test.each([
    ...['four for', 'hour hor', 'your yor', 'tour tor', 'pour por', 'flour floor', 'our or', 'sour sor'],
    ...['wise wize', 'rise rize', 'noise noize', 'raise raize', 'price prize', 'this thiz', 'basis bases'],
    ...['rogue rog', 'vogue vog', 'there ther', 'were wer', 'more mor', 'acre acer', 'ogre oger', 'lucre lucer'],
    ...['fence fense', 'since sinse', 'resource resorce', 'course corse', 'journey jorney'],
    ...['authentication authorization', 'image picture', 'python pytorch'],
  ])('%s', (words) => {
    expect(stemsOf(words).size).toBe(words.split(' ').length);
  });
});

describe('forms of one word that no spelling rule may part', () => {
  test.each([
    ...['advertise advertisement advertising', 'revise revision', 'supervise supervision', 'precise precision'],
    ...['promise promises promised promising', 'exercise exercises exercising', 'course courses', 'resource resources'],
    ...['tour tours touring', 'detour detours', 'tournament tournaments', 'journal journals'],
  ])('%s', (words) => {
    expect(stemsOf(words).size).toBe(1);
  });
});

test('no name of an object is a spelling', () => {
  for (const word of ['constructor', 'tostring', 'valueof', 'proto', 'hasownproperty', 'prototype']) {
    expect(typeof stemOf(word)).toBe('string');
    expect(stemOf(word).length).toBeGreaterThan(2);
  }
});

test('no word of the longest kind takes long', () => {
  const pieces = [
    'a',
    'y',
    'b',
    'ing',
    'ational',
    'eed',
    'ay',
    'sss',
    'll',
    'ion',
    'ise',
    'our',
    'ours',
    'ogue',
    'ysing',
  ];
  for (const piece of pieces) {
    const word = piece.repeat(64).slice(0, 64);
    for (let round = 0; round < 200; round += 1) stemOf(word);
  }
}, 2_000);
