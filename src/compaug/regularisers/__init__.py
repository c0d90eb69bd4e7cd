"""What keeps a classifier from learning too much from too little, beside the loss: one file for each method."""
