export {
  registerSuite,
  runConformanceCase,
  type SuiteCase,
  type SuiteTarget,
  type TestFramework,
} from './suite.js';
