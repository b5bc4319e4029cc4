"""What watches training: the console, TensorBoard, metrics."""
