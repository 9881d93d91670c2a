"""The main file of a Spark application: executors add numbers."""

from pyspark import SparkContext

context = SparkContext.getOrCreate()
total = context.parallelize(range(100), 4).sum()
print(f"sum {total}", flush=True)
context.stop()
