import { openSources } from './open-sources.ts';
import { importsOf } from './imports-of.ts';
import { functionLines } from './function-lines.ts';
import { worldUses } from './world-uses.ts';
import { findCycles } from './find-cycles.ts';
const t=Date.now();
const s = openSources(process.cwd());
const src = s.filter(f=>f.path.startsWith('src/') && !f.path.endsWith('.test.ts'));
const imps = src.flatMap(importsOf);
console.log(s.length, src.length, imps.length, Date.now()-t);
console.log('cycles', findCycles(imps.filter(i=>i.inside)));
for (const u of src.flatMap(worldUses)) console.log('use', u.path+':'+u.line, u.what);
for (const f of s) for (const x of functionLines(f)) if (x.lines>70) console.log('long', f.path, x.name, x.line, x.lines);
const part=(p:string)=>p.split('/')[1];
const pairs=new Map<string,string[]>();
for (const i of imps) if(i.inside){const k=part(i.from)+' -> '+part(i.to); if(part(i.from)!==part(i.to)) pairs.set(k,[...(pairs.get(k)??[]), i.from+':'+i.line]);}
for (const [k,v] of pairs) console.log(k, v.length, v.length<4?v.join(' '):'');
const feat=(p:string)=>p.startsWith('src/market/')?(p.split('/').length>3?p.split('/')[2]:'/'+p.split('/')[2]):null;
const fp=new Map<string,Set<string>>();
for (const i of imps) {const a=feat(i.from),b=feat(i.to); if(a&&b&&a!==b){fp.set(a!,(fp.get(a!)??new Set()).add(b!))}}
for (const [k,v] of fp) console.log(k,'->',[...v].sort().join(' '));
console.log('fcycles', findCycles([...fp].flatMap(([from,v])=>[...v].map(to=>({from,to})))));
const ext=new Map<string,Set<string>>();
for (const i of imps) if(!i.inside) ext.set(i.to,(ext.get(i.to)??new Set()).add(part(i.from)!));
for (const [k,v] of ext) console.log(k,[...v].join(' '));
for (const i of imps) if(!i.inside && ['sql-template-tag','pg','node:child_process','viem/accounts'].includes(i.to)) console.log(i.to,i.from,i.line);
